'use strict';
// What a program of these has seen, by names: printed as one line of JSON at its end.

const DEADLINE = 20_000;

/** `steps`: name → function. One after the other; what one throws is seen too. */
async function observe(steps) {
  const seen = {};
  for (const [name, look] of Object.entries(steps)) seen[name] = await outcomeOf(look);
  process.stdout.write(`${JSON.stringify(seen)}\n`);
}

async function outcomeOf(look) {
  let timer;
  const late = new Promise((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${DEADLINE} ms`)), DEADLINE);
  });
  try {
    return (await Promise.race([Promise.resolve().then(look), late])) ?? null;
  } catch (error) {
    return { threw: error.code ?? String(error.stack ?? error) };
  } finally {
    clearTimeout(timer);
  }
}

async function readText(stream) {
  const pieces = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

/** What is read of a refusal. */
function refusalOf(call) {
  try {
    call();
  } catch (error) {
    return fieldsOf(error);
  }
  return 'nothing was thrown';
}

function fieldsOf(error) {
  const { name, code, errno, syscall, path, stage, stagePath, stageSource } = error;
  return {
    isError: error instanceof Error,
    name,
    code,
    errno,
    syscall,
    path,
    stage,
    stagePath,
    stageSource,
  };
}

module.exports = { fieldsOf, observe, readText, refusalOf };
