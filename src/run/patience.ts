// A time to wait, which leaves no timer behind.

export class Patience {
  readonly over: Promise<undefined>;
  #timer: NodeJS.Timeout | undefined;

  constructor(milliseconds: number) {
    this.over = new Promise((resolve) => {
      this.#timer = setTimeout(() => {
        resolve(undefined);
      }, milliseconds);
    });
  }

  cancel(): void {
    clearTimeout(this.#timer);
  }
}
