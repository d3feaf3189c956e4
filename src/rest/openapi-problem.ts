/** The schema of a problem in the OpenAPI document. */
import { z } from 'zod';
import { type ErrorCode, statusOfCode } from '../errors.ts';
import { limitFigures } from '../fields.ts';

/** @param members optional members that rooms add */
export const problemSchema = (members: z.ZodRawShape) =>
  z
    .object({
      type: z.string().max(200).meta({ description: 'Always `about:blank`: `Code` identifies the kind.' }),
      title: z.string().max(100).meta({ description: 'The name of the status.' }),
      status: z.int().min(400).max(599),
      detail: z.string().max(20_000).meta({ description: 'What is wrong and how to fix it, for people.' }),
      instance: z.string().max(4_000).meta({ description: 'The path that was called.' }),
      Code: z
        .enum([...(Object.keys(statusOfCode) as ErrorCode[]), 'InternalError'])
        .meta({ description: 'What is wrong, for programs.' }),
      TraceId: z.string().max(128).meta({ description: 'The `X-Request-Id` of the answer.' }),
      Errors: z
        .array(
          z.object({
            Field: z.string().max(200).nullable().meta({ description: 'The name of the member on the wire.' }),
            Pointer: z
              .string()
              .max(1_000)
              .nullable()
              .meta({ description: 'A JSON pointer (RFC 6901) into the sent body.' }),
            OtherPointer: z.string().max(1_000).optional().meta({
              description:
                'A JSON pointer to the earlier place that it collides with, such as the hours that it overlaps.',
            }),
            Code: z.string().max(40),
            Message: z.string().max(4_000),
            Line: z.int().optional().meta({ description: 'The line of a file that was sent.' }),
            Column: z.int().nullable().optional().meta({ description: 'The field of the line, from 1.' }),
            Limit: limitFigures.optional(),
          }),
        )
        .max(1_000)
        .optional()
        .meta({ description: 'The single faults, if there are any.' }),
      FaultCount: z
        .int()
        .min(1)
        .optional()
        .meta({ description: 'How many faults there are, if `Errors` lists only the first of them.' }),
      ...members,
    })
    .meta({
      id: 'Problem',
      description:
        'An error (RFC 9457). The standard members are always in lower case; the others follow `X-JsonPropertyFormat`.',
    });
