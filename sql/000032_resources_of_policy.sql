-- The resources of a policy are found by it: when callers are read whom it hides them from, and when it is deleted.
create index resource_of_policy on resource (mandator_id, policy_id) where policy_id is not null;
