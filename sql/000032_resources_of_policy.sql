-- An index to find the resources of a policy: when the rights of callers are read, and when the policy is deleted.
create index resource_of_policy on resource (mandator_id, policy_id) where policy_id is not null;
