// The ES module face of `sallyport/credentials`: the same instances as require() gives.
export * from './credentials.js';
