// jest-worker: a farm of child processes, its calls, its errors and its end.
const { Worker } = require('jest-worker');

exports.square = (n) => n * n;
exports.fail = (message) => {
  throw new TypeError(message);
};
exports.where = () => typeof process.send;

if (require.main === module) {
  (async () => {
    const farm = new Worker(__filename, {
      numWorkers: 2,
      exposedMethods: ['square', 'fail', 'where'],
    });
    console.log(await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map((n) => farm.square(n))));
    console.log(await farm.where());
    await farm
      .fail('on purpose')
      .catch((error) => console.log(error.constructor.name, error.message));
    console.log(await farm.end());
  })();
}
