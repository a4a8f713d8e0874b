// Forks itself, and tells whether the fork has the variable SECRET.
const { fork } = require('node:child_process');

if (process.send === undefined) {
  fork(__filename).on('message', (has) => console.log(has));
} else {
  process.send(process.env.SECRET !== undefined, () => process.disconnect());
}
