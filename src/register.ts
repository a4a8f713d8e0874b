// `--require sallyport/register`, `--import sallyport/register`: installs as SALLYPORT_REGISTER says.
import { makeAbsolute } from './compat/exec-arguments.js';
import { install, isInstalled } from './compat/install.js';
import { parseSettings } from './compat/settings.js';

export { install, uninstall } from './compat/install.js';
export type { InstallOptions } from './compat/settings.js';

if (!isInstalled()) {
  install(parseSettings(process.env.SALLYPORT_REGISTER ?? ''));
  makeAbsolute(process.execArgv, 'sallyport/register', __filename);
}
