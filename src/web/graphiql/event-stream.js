/** The events of an answer over SSE, as `[name, data]`; EventSource sends neither a body nor headers. */
export async function* readEvents(body) {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of body) {
    const blocks = (rest + decoder.decode(bytes, { stream: true })).split('\n\n');
    rest = blocks.pop();
    for (const block of blocks) {
      const name = /^event: ?(.*)$/m.exec(block)?.[1];
      if (name) yield [name, /^data: ?(.*)$/m.exec(block)?.[1] ?? ''];
    }
  }
}
