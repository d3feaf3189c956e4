/** The page's address and the device's token; pairs the device when it has none. */
import { codeOf } from './answers.ts';
import { byId, make, show } from './dom.ts';
import { chooseLanguage, loadText } from './language.ts';

export type Session = Awaited<ReturnType<typeof openSession>>;

/** The local storage of the browser, if it may be used. */
export const memory = {
  get(key: string): string | null {
    try {
      return localStorage.getItem(key);
    } catch {
      return null;
    }
  },
  /** @param value null removes the key */
  set(key: string, value: string | null): void {
    try {
      if (value === null) localStorage.removeItem(key);
      else localStorage.setItem(key, value);
    } catch {
      // The storage is full or forbidden: the value is kept as long as the page.
    }
  },
};

/** A deadline: a call without network may hang forever. */
export function within(milliseconds: number): AbortSignal {
  const abort = new AbortController();
  setTimeout(() => abort.abort(), milliseconds);
  return abort.signal;
}

export async function openSession() {
  const tenant = new URL('..', location.href).pathname.toLowerCase();
  const parameters = new URLSearchParams(location.search);
  const language = chooseLanguage(parameters.get('lang'), navigator.languages || [navigator.language]);
  const storageKey = `roomgate ${tenant} token`;
  document.documentElement.lang = language;
  const theme = parameters.get('theme');
  // Until the room is known: its clock then decides.
  if (theme) document.documentElement.dataset['theme'] = theme;
  const brought = /[#&]token=([^&]+)/.exec(location.hash)?.[1];
  let token = brought ? decodeURIComponent(brought) : memory.get(storageKey);
  if (brought) {
    memory.set(storageKey, token);
    history.replaceState(null, '', location.pathname + location.search);
  }
  return {
    /** The id of the room or the location. */
    id: decodeURIComponent(location.pathname.split('/').at(-1) ?? ''),
    tenant,
    text: await loadText(language),
    language,
    get token() {
      return token;
    },
    set token(value: string | null) {
      const stored = memory.get(storageKey);
      // Another tab may have been paired meanwhile.
      token = value === null && stored !== token ? stored : value;
      memory.set(storageKey, token);
    },
    /** Calls the REST API. */
    ask(path: string, init: RequestInit = {}): Promise<Response> {
      const headers: Record<string, string> = { accept: 'application/json', 'x-jsonpropertyformat': 'camel' };
      if (token) headers['authorization'] = `Bearer ${token}`;
      return fetch(`../api/v1.0/displays/${path}`, {
        signal: within(20_000),
        ...init,
        cache: 'no-store',
        headers: { ...headers, ...(init.headers as Record<string, string>) },
      });
    },
  };
}

const pause = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1_000));

/** Shows a card in place of the page; `null` shows the page again. */
export function showCard(
  session: Session,
  card: { title: string; lines: (string | Node)[]; key: unknown } | null,
): void {
  byId('card').hidden = card === null;
  byId('page').hidden = card !== null;
  if (!card) return;
  document.title = card.title;
  show(byId('card'), [card.key, session.language], () => [make('h1', {}, card.title), ...card.lines]);
}

/**
 * Shows codes until an Admin has confirmed one; the device then has a token. If the address is wrong, the page says so.
 * @param kind what the page shows
 * @param why the reason for pairing, which is shown
 */
export async function pair(session: Session, kind: 'sign' | 'board', why: string | null): Promise<void> {
  const { text } = session;
  const say = (lines: (string | Node)[], key: string) =>
    showCard(session, {
      title: text.pair,
      lines: [why && make('p', {}, why), ...lines].filter(Boolean) as Node[],
      key,
    });
  say([make('p', { role: 'status' }, text.pairing)], '');
  for (let wait = 2; ; wait = Math.min(60, wait * 2)) {
    const code = await askForCode(session, kind).catch(() => null);
    if (typeof code === 'number') {
      // The tenant, room or location may be created later.
      wait = 30;
      showCard(session, wrongAddress(session, kind, code));
      await pause(wait * (1 + Math.random()));
    } else if (code) {
      wait = 2;
      say(
        [
          make('p', {}, text.pairHow),
          make('p', { class: 'code', role: 'status' }, code.code),
          make('p', {}, make('code', {}, `roomgate display pair ${code.code} --mandator ${codeOfTenant(session)}`)),
          make('p', { class: 'fine' }, text.pairWait),
        ],
        code.code,
      );
      if (await isConfirmed(session, code)) return;
    } else {
      say([make('p', { role: 'status' }, text.pairFailed)], 'failed');
      await pause(wait * (0.5 + Math.random()));
    }
  }
}

type Code = { code: string; token: string; pollSeconds: number; validFor: number };

const codeOfTenant = ({ tenant }: Session) => decodeURIComponent(tenant.split('/').at(-2) ?? '');

/** @param status 404: no such tenant; 422: no such room or location */
function wrongAddress(session: Session, kind: 'sign' | 'board', status: number) {
  const { text, id } = session;
  const [title, how] =
    status === 404
      ? [text.noTenant(codeOfTenant(session)), text.noTenantHow]
      : [kind === 'sign' ? text.noRoom(id) : text.noLocation(id), text.noPlaceHow];
  return {
    title,
    lines: [make('p', { role: 'status' }, how), make('p', {}, make('code', {}, location.pathname))],
    key: title,
  };
}

/** @returns 404 or 422 if the address of the page is wrong */
async function askForCode(session: Session, kind: 'sign' | 'board'): Promise<Code | 404 | 422 | null> {
  const response = await session.ask('pairings', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ [kind === 'sign' ? 'ResourceId' : 'LocationId']: Number(session.id) }),
  });
  const { status, ok } = response;
  const text = await response.text();
  if ((status === 404 || status === 422) && codeOf(text)) return status;
  if (!ok) return null;
  const { code, token, expiresAt, pollSeconds } = JSON.parse(text);
  // Both instants are by the server's clock; the device's may be wrong.
  const left = Date.parse(expiresAt) - Date.parse(response.headers.get('date') ?? '');
  return { code, token, pollSeconds, validFor: left > 0 && left < 3_600_000 ? left : 600_000 };
}

async function isConfirmed(session: Session, { token, pollSeconds, validFor }: Code): Promise<boolean> {
  const until = performance.now() + validFor;
  while (performance.now() < until) {
    await pause(pollSeconds);
    const response = await session.ask('self', { headers: { authorization: `Bearer ${token}` } }).catch(() => null);
    if (!response?.ok) continue;
    session.token = token;
    return true;
  }
  return false;
}
