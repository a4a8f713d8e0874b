// What the documents say of speed comes from one run, and not from a hand.
import { expect, it } from 'vitest';

import { findStale } from '../../bench/write-docs.mjs';

it('the page of performance and its plots are those of bench/published.json', () => {
  expect(findStale()).toEqual([]);
});
