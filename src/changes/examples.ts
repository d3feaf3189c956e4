/** Examples of answers for the OpenAPI document. */

export const changes = {
  Items: [
    { Kind: 'Booking', Id: 4711, Action: 'Created', ResourceId: 2, At: '2026-11-20T08:00:00.000Z' },
    {
      Kind: 'Batch',
      Id: '01a1f8da-707e-77b2-927f-0b8eb9707a33',
      Action: 'Changed',
      ResourceId: null,
      At: '2026-11-20T08:00:01.000Z',
    },
  ],
  NextCursor: 'cjE6Y2hhbmdlczo0Mg',
  HasMore: false,
};
