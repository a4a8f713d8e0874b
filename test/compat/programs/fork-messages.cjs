// fork: messages of both kinds, and how a channel ends.
const { fork } = require('node:child_process');
const { once } = require('node:events');

if (process.argv[2] === 'child') {
  process.on('message', (message) => {
    if (message === 'leave') process.disconnect();
    else process.send(message, () => {});
  });
  process.on('disconnect', () => console.log('the child is alone'));
  process.send({
    connected: process.connected,
    argv: process.argv.slice(2),
    env: process.env.GIVEN,
  });
} else {
  (async () => {
    for (const serialization of ['json', 'advanced']) {
      const child = fork(__filename, ['child', 'word'], { serialization, env: { GIVEN: 'yes' } });
      console.log(child.connected, await once(child, 'message'));
      const values = [1, 'text', { a: [1, { b: null }] }, 'x'.repeat(300_000), true, [undefined]];
      if (serialization === 'advanced') {
        values.push(
          new Map([[1, new Set([2])]]),
          [10n, new Date(0), Buffer.from('b')],
          new Error('x'),
        );
      }
      for (const value of values) {
        child.send(value);
        const [answer] = await once(child, 'message');
        console.log(typeof answer === 'string' ? answer.length : answer instanceof Error || answer);
      }
      child.send('leave');
      await once(child, 'disconnect');
      console.log(child.connected, child.channel, await once(child, 'close'));
      console.log(child.send('x', (error) => console.log(error.code)));
      await new Promise(setImmediate);
    }
    const left = fork(__filename, ['child']);
    await once(left, 'message');
    left.disconnect();
    console.log(await once(left, 'close'));
    const killed = fork(__filename, ['child']);
    await once(killed, 'message');
    killed.kill();
    console.log(await Promise.all([once(killed, 'disconnect'), once(killed, 'exit')]));
  })();
}
