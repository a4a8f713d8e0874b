// Stands in for a cloud, on loopback: hands out short-lived tokens, and data to who shows one.
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';

/**
 * @param login what must be shown to get a token: the secret that no task may have
 * @param life milliseconds that a token holds
 */
export async function startTokenService(login, life) {
  const tokens = new Map();
  const counts = { minted: 0, served: 0, refused: 0, revoked: 0 };

  const answers = {
    'POST /token': (shown) => {
      if (shown !== login) return null;
      const token = `tok-${randomBytes(24).toString('hex')}`;
      tokens.set(token, Date.now() + life);
      counts.minted += 1;
      return { token, expiresAt: new Date(Date.now() + life).toISOString() };
    },
    'DELETE /token': (shown) => {
      if (!tokens.delete(shown)) return null;
      counts.revoked += 1;
      return {};
    },
    'GET /data': (shown) => {
      if (!(Date.now() < (tokens.get(shown) ?? 0))) return null;
      counts.served += 1;
      return { rows: ['apples', 'pears', 'plums'] };
    },
  };

  const server = createServer((request, response) => {
    const shown = request.headers.authorization?.replace(/^Bearer /, '');
    const answer = answers[`${request.method} ${request.url}`]?.(shown) ?? null;
    if (answer === null) counts.refused += 1;
    response.writeHead(answer === null ? 403 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));

  return {
    url: `http://127.0.0.1:${server.address().port}`,
    counts,
    stop: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

/** @returns what the service answers, or null where it refuses */
export async function call(url, method, path, secret) {
  const headers = { authorization: `Bearer ${secret}`, connection: 'close' };
  return await (await fetch(new URL(path, url), { method, headers })).json();
}
