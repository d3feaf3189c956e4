/** Decisions about bookings as clients see and send them. */
import { z } from 'zod';
import { instant, maybeText, sentText } from '../fields.ts';
import { personReference, toPersonReference } from '../tenants/service.ts';
import { type Booking, verdicts } from './booking.ts';

export const verdict = z
  .enum(verdicts, 'must be Approved or Declined')
  .meta({ id: 'Verdict', description: 'What somebody has decided about a booking that waited for approval.' });

const longestReason = 500;
export const decision = z
  .object({
    Verdict: verdict.meta({ description: 'Whether it takes place.' }),
    DecidedAt: instant('When it was decided.'),
    DecidedBy: personReference.nullable().meta({ description: 'Who has decided; null where nobody did in time.' }),
    Reason: maybeText(longestReason, 'Why, in the words of whoever has decided.'),
  })
  .meta({ id: 'Decision', description: 'What was decided about a booking that waited for approval.' });

export const decisionBody = z
  .strictObject({
    Verdict: verdict.meta({ description: 'Whether it takes place.' }),
    Reason: sentText(longestReason)
      .nullable()
      .default(null)
      .meta({ description: 'Why; others read it in the booking.' }),
  })
  .meta({ id: 'NewDecision', description: 'What is decided about a booking that waits for approval.' });

export const toDecisionRecord = ({ verdict, at, by, reason }: NonNullable<Booking['decision']>) => ({
  Verdict: verdict,
  DecidedAt: at.toISOString(),
  DecidedBy: by && toPersonReference(by),
  Reason: reason,
});
