/** The place of a REST call among the large answers of its process: from when the call takes it until its answer has been sent. */
import type { ServerResponse } from 'node:http';
import type { Context, Viewer } from '../context.ts';
import { openLargeAnswers, openLargeCalendars } from '../flow/large-answers.ts';

export type AnswerPlace = {
  /**
   * Waits for a place unless the call has one. Call it before a large answer is made.
   * @throws LimitExceeded when the person or tenant has all the places that it may have
   */
  take(): Promise<void>;
  /** Takes a place unless the call has one, or none is free. @returns whether it has one now */
  takeIfFree(): boolean;
  /** Takes a place even if none is free: for the answers of changes, which have been made by then. */
  takeAtOnce(): void;
};

/** @param viewer undefined for an anonymous call, which needs no place */
export function openAnswerPlace(context: Context, response: ServerResponse, viewer: Viewer | undefined): AnswerPlace {
  let isTaken = viewer === undefined;
  function keep(leave: () => void): void {
    isTaken = true;
    if (response.closed) leave();
    else response.once('close', leave);
  }
  const places = () => context.once(viewer?.calendarTokenId === undefined ? openLargeAnswers : openLargeCalendars);
  return {
    async take() {
      if (!isTaken) keep(await places().take(viewer as Viewer));
    },
    takeIfFree() {
      const leave = isTaken ? undefined : places().takeIfFree(viewer as Viewer);
      if (leave) keep(leave);
      return isTaken;
    },
    takeAtOnce() {
      if (!isTaken) keep(places().takeAtOnce(viewer as Viewer));
    },
  };
}
