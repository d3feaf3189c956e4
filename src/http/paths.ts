/** Percent-encoded letters, digits, `-`, `.`, `_` and `~` (RFC 3986, 2.3). */
const unreserved = /%(?:2[de]|3\d|4[1-9a-f]|5[\daf]|6[1-9a-f]|7[\dae])/gi;
const dotSegment = /\/\.\.?(?:\/|$)/;

function isEncoded(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

/**
 * The URL of a request with unreserved characters as they are, which changes no meaning (RFC 3986, 6.2.2.2). The first segment stays,
 * as proxies keep others from /metrics by its name, and so do segments that would become `..`. A malformed path stays malformed.
 */
export function normalizePath(url: string): string {
  if (!url.includes('%')) return url;
  const [path = ''] = url.split('?', 1);
  const second = path.indexOf('/', 1);
  if (second < 0 || !isEncoded(path)) return url;
  const plain = path.slice(second).replaceAll(unreserved, decodeURIComponent);
  return dotSegment.test(plain) ? url : path.slice(0, second) + plain + url.slice(path.length);
}
