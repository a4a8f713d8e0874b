// An untrusted task: does its work, and then looks for whatever else it might take along.
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { homedir } from 'node:os';

const tell = (what, found) => console.log(`${what}: ${found}`);
const attempt = (look) => {
  try {
    return look();
  } catch (error) {
    return error.code;
  }
};

// Its work: it was told where the data is, and where the file with its token is.
const token = readFileSync(process.env.TOKEN_FILE, 'utf8');
const response = await fetch(new URL('/data', process.env.SERVICE_URL), {
  headers: { authorization: `Bearer ${token}`, connection: 'close' },
});
tell('data', (await response.json()).rows.join(', '));

// A token that it prints, by mistake or not, is not in what the harness keeps.
tell('token', token);

tell('variables', Object.keys(process.env).sort().join(' '));
tell('CLOUD_LOGIN', process.env.CLOUD_LOGIN ?? 'not there');
tell('home', readdirSync(homedir()).join(' '));

// The process that it was started by, and everything above that.
for (let pid = process.ppid; pid > 1;) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const [, name, rest] = /\((.*)\) (.*)/s.exec(stat);
  const found = attempt(() =>
    readFileSync(`/proc/${pid}/environ`, 'latin1').includes('CLOUD_LOGIN=') ? 'login' : 'no login',
  );
  if (name === process.env.HARNESS_NAME) {
    tell('environment of the harness', found);
    tell(
      'files of the harness',
      attempt(() => readlinkSync(`/proc/${pid}/fd/0`) && 'readable'),
    );
    break;
  }
  pid = Number(rest.split(' ')[1]);
}

// What it leaves behind has left its session and holds no pipe.
spawn('sleep', ['600'], { detached: true, stdio: 'ignore' }).unref();
