-- The jobs that a batch created are listed as its edge.
create index lesson_job_batch on lesson_job (mandator_id, batch_id);
