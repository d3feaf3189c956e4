/** Parses server-sent events; EventSource cannot send a POST or headers. */

export type ServerEvent = { event: string; data: string };

/** @returns a function that takes bytes, cut anywhere, and returns the events that they complete */
export function makeEventParser(): (bytes: Uint8Array) => ServerEvent[] {
  const decoder = new TextDecoder();
  let rest = '';
  let event = '';
  let data: string[] = [];
  return (bytes) => {
    const events: ServerEvent[] = [];
    rest += decoder.decode(bytes, { stream: true });
    // A final carriage return may be the first half of a line end.
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '') {
        if (event || data.length) events.push({ event: event || 'message', data: data.join('\n') });
        event = '';
        data = [];
        continue;
      }
      const [, name, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
      if (name === 'event') event = value;
      if (name === 'data') data.push(value);
    }
    return events;
  };
}
