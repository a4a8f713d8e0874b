// What `sallyport/review` offers. Only re-exports.
export { ledger, type Ledger, type LedgerCategory, type LedgerEntry } from './review/ledger.js';
export { formatLedger, formatReview, markdownLedger } from './review/print.js';
export { parseProfile, readProfile } from './review/parse.js';
export { profileFrom } from './review/draft.js';
export { strictProfile, type StrictWish } from './review/strict.js';
export { profileJsonSchema } from './review/schema.js';
export {
  gatherEvidence,
  type CompletionEvidence,
  type DescriptorEvidence,
  type ExecutableEvidence,
  type LauncherEvidence,
  type ReviewEvidence,
} from './review/evidence.js';
export { review, type Review, type ReviewOptions } from './review/review.js';
export type { Decision, Gate, GateDifference, GateName } from './review/gate.js';
export type {
  ApprovedChannel,
  ApprovedDescriptor,
  ApprovedObject,
  Operand,
  Profile,
} from './review/profile.js';
