/** URLs of databases. Loads no driver, because a supervisor reads settings too. */

const partsOf = (url: string) => /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/is.exec(url) ?? [];

/** The hosts and ports of a URL, whatever its database and role. */
export const serversOf = (url: string): string => partsOf(url)[2] ?? '';

/** The URL of each host; a URL of one host is itself. */
export function hostsOf(url: string): string[] {
  const [, before = '', hosts = '', after = ''] = partsOf(url);
  return hosts.includes(',') ? hosts.split(',').map((host) => `${before}${host}${after}`) : [url];
}

/** The URL for libpq, which would otherwise use the first of several hosts that answers, even a standby. */
export const atPrimary = (url: string) =>
  hostsOf(url).length === 1 || /[?&]target_session_attrs=/.test(url)
    ? url
    : `${url}${url.includes('?') ? '&' : '?'}target_session_attrs=primary`;

/** The URL of another database of the same server, or servers. */
export const atDatabase = (url: string, database: string) =>
  url.replace(/^(postgres(?:ql)?:\/\/[^/?#]*)(?:\/[^?#]*)?/i, (_, server) => `${server}/${database}`);

/**
 * Whether the driver reads the URL as intended. In a password that is not encoded, it would ignore everything after a
 * `#`, and take what is between `@` and `/` for the host.
 */
export const isDatabaseUrl = (url: string): boolean =>
  /^postgres(ql)?:\/\/(?=[^#])[^/?#]*(\/[^/?#@]*)?(\?[^#@]*)?$/.test(url) &&
  hostsOf(url).every((one) => URL.canParse(one.replace('@/', '@localhost/')));
