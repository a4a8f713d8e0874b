// What the package offers. Only re-exports.
export {
  SallyportError,
  SallyportTypeError,
  type Difference,
  type Stage,
  type StageSource,
} from './errors.js';
export type { ObjectKind, ObjectAccess, ExpectedKind } from './objects/kind.js';
export type { DescriptorObject, SocketFacts } from './objects/object.js';
export type { Expectation } from './objects/expectation.js';
export {
  createEnvironment,
  Environment,
  type AllowEntry,
  type CacheEntry,
  type EnvironmentRequest,
  type SetEntry,
} from './plan/create-environment.js';
export type { CredentialVariables } from './plan/credential-variables.js';
export type {
  CacheGrant,
  EnvironmentGrant,
  EnvironmentRecord,
  GrantOrigin,
} from './plan/environment-record.js';
export type { NameFlag, NameFlagKind } from './plan/flagged-names.js';
export type { CacheName, PresetName } from './plan/presets.js';
export type { DescriptorPlan } from './plan/descriptors.js';
export type { LaunchPlan } from './plan/plan.js';
export type { Route } from './plan/route.js';
export type {
  AttributeOptions,
  IoPriority,
  LaunchAttributes,
  Limit,
  LimitName,
  LimitValue,
} from './plan/attributes.js';
export type {
  ListenerEntry,
  PassEntry,
  PlanOptions,
  SpawnOptions,
  StdioEntry,
} from './plan/options.js';
export { describePlan, planDigest, type PlanDescription } from './plan/describe.js';
export { planLaunch, spawn } from './launch/spawn.js';
export { launch } from './launch/launch.js';
export {
  describeEnvironment,
  type EnvironmentDescription,
  type SuspectVariable,
} from './environment/describe.js';
export { reportGaps, type GapOptions, type GapReport } from './environment/gaps.js';
export type { Gap, GapKind, GapMechanism, GapState } from './environment/gap.js';
export {
  prepareWorkspace,
  type PreparedWorkspace,
  type WorkspaceOptions,
} from './environment/workspace.js';
export { pinExecutable } from './launch/pin.js';
export type { Decision, Gate, GateDifference, GateName } from './review/gate.js';
export type { Profile } from './review/profile.js';
export type { ExecEvidence, SeenDescriptor } from './launch/evidence.js';
export { PinnedExecutable, type PinnedIdentity } from './plan/pinned.js';
export { Child, type ChildEvents } from './launch/child.js';
export type { ChildWith } from './launch/child-streams.js';
export type { ExitStatus, ResourceUsage } from './launch/outcomes.js';
export { run, type Run } from './run/run.js';
export { runSync, type RunSyncOptions, type SyncChannelOptions } from './run/run-sync.js';
export { runLines, type Lines } from './run/run-lines.js';
export { runPipeline, type PipelineReport, type PipelineStage } from './run/pipeline.js';
export type { RunInput, RunOptions } from './run/options.js';
export type {
  ChannelOptions,
  KeepOptions,
  OutputMask,
  OutputOptions,
  OutputVia,
} from './run/output-options.js';
export type { Keep } from './run/keeper.js';
export type { LineListener } from './run/sink.js';
export type {
  ContainmentMethod,
  ContainmentWish,
  SentSignal,
  Survivor,
} from './run/containment.js';
export type {
  Admission,
  ChannelReport,
  Cleanup,
  Inheritance,
  InputReport,
  Outcome,
  RunError,
  RunReport,
} from './run/report.js';
export type { CgroupOptions } from './run/cgroup-options.js';
export type { CgroupPeak } from './run/run-cgroup.js';
export type { PipeHolder } from './run/holders.js';
export type { StalledProcess, StallEvidence } from './run/stall.js';
export { sealDescriptors, type SealedDescriptor, type SealOptions } from './sockets/seal.js';
export {
  auditAll,
  auditProcess,
  auditSelf,
  auditTree,
  type AuditDetails,
  type AuditOptions,
  type SelfAudit,
} from './audit/audit.js';
export type { DescriptorExpectations, PlannedDescriptors } from './audit/against.js';
export { findHolders, type Holder, type HolderQuery, type HolderReport } from './audit/holders.js';
export type {
  DescriptorOrigin,
  DescriptorRecord,
  Holding,
  ProcessAudit,
  SocketPeer,
  SocketRecord,
  SocketState,
  Verdict,
} from './audit/record.js';
export { watchProcess, type DescriptorChange, type WatchOptions } from './audit/watch.js';
export {
  receiveListeners,
  type ReceivedListener,
  type ReceiveOptions,
} from './sockets/activation.js';
export { closeListener, type CloseListenerOptions } from './sockets/close.js';
export {
  explainPort,
  type PortCause,
  type PortCauseKind,
  type PortExplanation,
} from './sockets/explain.js';
export {
  listListeners,
  type Listener,
  type ListenerHolder,
  type ListenerOptions,
  type ListenerReport,
} from './sockets/listeners.js';
export { releaseListener, type ReleasedListener, type ReleaseQuery } from './sockets/release.js';
export type { Role } from './sockets/serving.js';
export { shieldParent } from './sockets/shield.js';
