// What the package offers. Only re-exports.
export { SallyportError, SallyportTypeError, type Stage, type StageSource } from './errors.js';
export type { ObjectKind, ObjectAccess, ExpectedKind } from './objects/kind.js';
export type { DescriptorObject, SocketFacts } from './objects/object.js';
export type { Expectation } from './objects/expectation.js';
export { createEnvironment, Environment, type EnvironmentRequest } from './plan/environment.js';
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
export { Child, type ChildEvents } from './launch/child.js';
export type { ExitStatus, ResourceUsage } from './launch/events.js';
export { sealDescriptors, type SealedDescriptor, type SealOptions } from './sockets/seal.js';
