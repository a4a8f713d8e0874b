// Shows what a launch would hand over, without starting anything: to read, to log, to compare.
import { describePlan, planDigest, planLaunch } from 'sallyport';

const plan = planLaunch('git', ['status'], {
  env: { PATH: '/usr/bin:/bin', GIT_ASKPASS_SECRET: 'made-up' },
  cwd: '/',
});

// Names of variables, never their values.
console.log(JSON.stringify(describePlan(plan), null, 2));
console.log(planDigest(plan));
