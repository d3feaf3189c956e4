import type { ServerResponse } from 'node:http';
import { afterEach, expect, jest, test } from '@jest/globals';
import type { Frames } from '../../src/graphql/frames.ts';
import { createEventStreams } from '../../src/graphql/sse.ts';
import { openLog } from '../../src/log.ts';

afterEach(() => {
  jest.useRealTimers();
});

test('streams that were silent for as long are pinged after the turn that finds them, one after the other', async () => {
  jest.useFakeTimers();
  const streams = createEventStreams(openLog('silent'), 60_000);
  const written = [0, 0, 0];
  const silent = { isOver: false, onNews: undefined, take: () => undefined, close() {} } as Frames;
  for (const at of written.keys()) {
    const response = {
      socket: null,
      writableLength: 0,
      removeHeader() {},
      writeHead: () => response,
      flushHeaders() {},
      on() {},
      write: () => (written[at] = (written[at] as number) + 1),
    };
    streams.serve(response as unknown as ServerResponse, { ...silent });
  }
  try {
    expect(written).toEqual([1, 1, 1]);
    jest.advanceTimersByTime(12_000);
    expect(written).toEqual([1, 1, 1]);
    await jest.advanceTimersByTimeAsync(100);
    expect(written).toEqual([2, 2, 2]);
  } finally {
    streams.close();
  }
});
