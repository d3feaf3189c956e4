/** Decisions about bookings as clients see and send them. */
import { z } from 'zod';
import { instant, maybeText, sentText } from '../fields.ts';
import { longest } from '../names.ts';
import { personReference, toPersonReference } from '../tenants/service.ts';
import { type Booking, verdicts } from './booking.ts';

export const verdict = z
  .enum(verdicts, 'must be Approved or Declined')
  .meta({ id: 'Verdict', description: 'The decision about a request.' });

export const decision = z
  .object({
    Verdict: verdict.meta({ description: 'The decision.' }),
    DecidedAt: instant('When it was decided.'),
    DecidedBy: personReference.nullable().meta({ description: 'Who decided; null if nobody did in time.' }),
    Reason: maybeText(longest.reason, 'The reason, in the words of the person who decided.'),
  })
  .meta({ id: 'Decision', description: 'The decision about a booking that waited for approval.' });

export const decisionBody = z
  .strictObject({
    Verdict: verdict.meta({ description: 'The decision.' }),
    Reason: sentText(longest.reason)
      .nullable()
      .default(null)
      .meta({ description: 'The reason, which others can read in the booking.' }),
  })
  .meta({ id: 'NewDecision', description: 'A decision about a booking that waits for approval.' });

export const toDecisionRecord = ({ verdict, at, by, reason }: NonNullable<Booking['decision']>) => ({
  Verdict: verdict,
  DecidedAt: at.toISOString(),
  DecidedBy: by && toPersonReference(by),
  Reason: reason,
});
