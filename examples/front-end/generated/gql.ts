/* eslint-disable */
import * as types from './graphql.ts';
import type { TypedDocumentNode as DocumentNode } from '@graphql-typed-document-node/core';

/**
 * Map of all GraphQL operations in the project.
 *
 * This map has several performance disadvantages:
 * 1. It is not tree-shakeable, so it will include all operations in the project.
 * 2. It is not minifiable, so the string of a GraphQL query will be multiple times inside the bundle.
 * 3. It does not support dead code elimination, so it will add unused operations.
 *
 * Therefore it is highly recommended to use the babel or swc plugin for production.
 * Learn more about it here: https://the-guild.dev/graphql/codegen/plugins/presets/preset-client#reducing-bundle-size
 */
type Documents = {
    "fragment BookingParts on Booking {\n  id\n  version\n  subject\n  start\n  end\n  status\n  resource {\n    id\n    name\n  }\n  organizer {\n    displayName\n  }\n}\n\nquery Rooms($first: Int!, $after: String) {\n  resources(filter: {active: true}, first: $first, after: $after) {\n    nodes {\n      id\n      name\n      capacity\n      equipment\n    }\n    pageInfo {\n      hasNextPage\n      endCursor\n    }\n  }\n}\n\nquery Day($locationId: ID!, $from: DateTime!, $to: DateTime!) {\n  location(id: $locationId) {\n    id\n    name\n    timeZone\n    resources(first: 50, filter: {active: true}) {\n      nodes {\n        id\n        name\n        bookings(filter: {from: $from, to: $to, occupying: true}, first: 10) {\n          nodes {\n            ...BookingParts\n          }\n        }\n      }\n    }\n  }\n}\n\nquery Bookings($resourceId: ID!, $from: DateTime!, $to: DateTime!) {\n  bookings(\n    filter: {resourceId: [$resourceId], from: $from, to: $to, occupying: true}\n    first: 200\n  ) {\n    nodes {\n      ...BookingParts\n    }\n  }\n}\n\nmutation Book($input: CreateBookingInput!) {\n  createBooking(input: $input) {\n    ... on BookingCreated {\n      booking {\n        ...BookingParts\n      }\n    }\n    ... on ForbiddenProblem {\n      code\n      message\n    }\n    ... on ConflictProblem {\n      code\n      message\n      alternatives {\n        resourceId\n        resourceName\n        start\n        end\n      }\n    }\n    ... on ValidationProblem {\n      code\n      message\n      errors {\n        pointer\n        message\n      }\n    }\n  }\n}\n\nsubscription Follow($resourceId: ID!, $after: String) {\n  bookings(filter: {resourceId: [$resourceId]}, after: $after) {\n    cursor\n    bookings {\n      ...BookingParts\n    }\n    gone\n  }\n}": typeof types.BookingPartsFragmentDoc,
};
const documents: Documents = {
    "fragment BookingParts on Booking {\n  id\n  version\n  subject\n  start\n  end\n  status\n  resource {\n    id\n    name\n  }\n  organizer {\n    displayName\n  }\n}\n\nquery Rooms($first: Int!, $after: String) {\n  resources(filter: {active: true}, first: $first, after: $after) {\n    nodes {\n      id\n      name\n      capacity\n      equipment\n    }\n    pageInfo {\n      hasNextPage\n      endCursor\n    }\n  }\n}\n\nquery Day($locationId: ID!, $from: DateTime!, $to: DateTime!) {\n  location(id: $locationId) {\n    id\n    name\n    timeZone\n    resources(first: 50, filter: {active: true}) {\n      nodes {\n        id\n        name\n        bookings(filter: {from: $from, to: $to, occupying: true}, first: 10) {\n          nodes {\n            ...BookingParts\n          }\n        }\n      }\n    }\n  }\n}\n\nquery Bookings($resourceId: ID!, $from: DateTime!, $to: DateTime!) {\n  bookings(\n    filter: {resourceId: [$resourceId], from: $from, to: $to, occupying: true}\n    first: 200\n  ) {\n    nodes {\n      ...BookingParts\n    }\n  }\n}\n\nmutation Book($input: CreateBookingInput!) {\n  createBooking(input: $input) {\n    ... on BookingCreated {\n      booking {\n        ...BookingParts\n      }\n    }\n    ... on ForbiddenProblem {\n      code\n      message\n    }\n    ... on ConflictProblem {\n      code\n      message\n      alternatives {\n        resourceId\n        resourceName\n        start\n        end\n      }\n    }\n    ... on ValidationProblem {\n      code\n      message\n      errors {\n        pointer\n        message\n      }\n    }\n  }\n}\n\nsubscription Follow($resourceId: ID!, $after: String) {\n  bookings(filter: {resourceId: [$resourceId]}, after: $after) {\n    cursor\n    bookings {\n      ...BookingParts\n    }\n    gone\n  }\n}": types.BookingPartsFragmentDoc,
};

/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 *
 *
 * @example
 * ```ts
 * const query = graphql(`query GetUser($id: ID!) { user(id: $id) { name } }`);
 * ```
 *
 * The query argument is unknown!
 * Please regenerate the types.
 */
export function graphql(source: string): unknown;

/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "fragment BookingParts on Booking {\n  id\n  version\n  subject\n  start\n  end\n  status\n  resource {\n    id\n    name\n  }\n  organizer {\n    displayName\n  }\n}\n\nquery Rooms($first: Int!, $after: String) {\n  resources(filter: {active: true}, first: $first, after: $after) {\n    nodes {\n      id\n      name\n      capacity\n      equipment\n    }\n    pageInfo {\n      hasNextPage\n      endCursor\n    }\n  }\n}\n\nquery Day($locationId: ID!, $from: DateTime!, $to: DateTime!) {\n  location(id: $locationId) {\n    id\n    name\n    timeZone\n    resources(first: 50, filter: {active: true}) {\n      nodes {\n        id\n        name\n        bookings(filter: {from: $from, to: $to, occupying: true}, first: 10) {\n          nodes {\n            ...BookingParts\n          }\n        }\n      }\n    }\n  }\n}\n\nquery Bookings($resourceId: ID!, $from: DateTime!, $to: DateTime!) {\n  bookings(\n    filter: {resourceId: [$resourceId], from: $from, to: $to, occupying: true}\n    first: 200\n  ) {\n    nodes {\n      ...BookingParts\n    }\n  }\n}\n\nmutation Book($input: CreateBookingInput!) {\n  createBooking(input: $input) {\n    ... on BookingCreated {\n      booking {\n        ...BookingParts\n      }\n    }\n    ... on ForbiddenProblem {\n      code\n      message\n    }\n    ... on ConflictProblem {\n      code\n      message\n      alternatives {\n        resourceId\n        resourceName\n        start\n        end\n      }\n    }\n    ... on ValidationProblem {\n      code\n      message\n      errors {\n        pointer\n        message\n      }\n    }\n  }\n}\n\nsubscription Follow($resourceId: ID!, $after: String) {\n  bookings(filter: {resourceId: [$resourceId]}, after: $after) {\n    cursor\n    bookings {\n      ...BookingParts\n    }\n    gone\n  }\n}"): (typeof documents)["fragment BookingParts on Booking {\n  id\n  version\n  subject\n  start\n  end\n  status\n  resource {\n    id\n    name\n  }\n  organizer {\n    displayName\n  }\n}\n\nquery Rooms($first: Int!, $after: String) {\n  resources(filter: {active: true}, first: $first, after: $after) {\n    nodes {\n      id\n      name\n      capacity\n      equipment\n    }\n    pageInfo {\n      hasNextPage\n      endCursor\n    }\n  }\n}\n\nquery Day($locationId: ID!, $from: DateTime!, $to: DateTime!) {\n  location(id: $locationId) {\n    id\n    name\n    timeZone\n    resources(first: 50, filter: {active: true}) {\n      nodes {\n        id\n        name\n        bookings(filter: {from: $from, to: $to, occupying: true}, first: 10) {\n          nodes {\n            ...BookingParts\n          }\n        }\n      }\n    }\n  }\n}\n\nquery Bookings($resourceId: ID!, $from: DateTime!, $to: DateTime!) {\n  bookings(\n    filter: {resourceId: [$resourceId], from: $from, to: $to, occupying: true}\n    first: 200\n  ) {\n    nodes {\n      ...BookingParts\n    }\n  }\n}\n\nmutation Book($input: CreateBookingInput!) {\n  createBooking(input: $input) {\n    ... on BookingCreated {\n      booking {\n        ...BookingParts\n      }\n    }\n    ... on ForbiddenProblem {\n      code\n      message\n    }\n    ... on ConflictProblem {\n      code\n      message\n      alternatives {\n        resourceId\n        resourceName\n        start\n        end\n      }\n    }\n    ... on ValidationProblem {\n      code\n      message\n      errors {\n        pointer\n        message\n      }\n    }\n  }\n}\n\nsubscription Follow($resourceId: ID!, $after: String) {\n  bookings(filter: {resourceId: [$resourceId]}, after: $after) {\n    cursor\n    bookings {\n      ...BookingParts\n    }\n    gone\n  }\n}"];

export function graphql(source: string) {
  return (documents as any)[source] ?? {};
}

export type DocumentType<TDocumentNode extends DocumentNode<any, any>> = TDocumentNode extends DocumentNode<  infer TType,  any>  ? TType  : never;