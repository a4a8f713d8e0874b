// The ES module face: the same instances as require() gives.
export * from './register.js';
