// The ES module face: the same instances as require() gives.
export * from './review.js';
