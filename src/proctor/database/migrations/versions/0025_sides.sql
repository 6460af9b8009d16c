-- Sides of comparisons, their tasks counted once and kept until something under them changes. Frozen: later revisions
-- change it, this file never does again.

-- A profile of a run set under a policy. Others find it once it is ``kept``, as long as no row of ``side_change`` names it.
CREATE TABLE proctor.kept_side (
    tenant_id UUID NOT NULL,
    id UUID NOT NULL,
    run_set_id UUID NOT NULL,
    profile INTEGER NOT NULL,
    policy_version TEXT NOT NULL,
    cells TEXT DEFAULT '' NOT NULL,
    priced INTEGER DEFAULT '0' NOT NULL,
    unpriced INTEGER DEFAULT '0' NOT NULL,
    cost_nano NUMERIC DEFAULT '0' NOT NULL,
    cost_squares NUMERIC DEFAULT '0' NOT NULL,
    kept BOOLEAN DEFAULT false NOT NULL,
    used_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_kept_side PRIMARY KEY (tenant_id, id),
    CONSTRAINT fk_kept_side_tenant_id_run_set_id FOREIGN KEY (tenant_id, run_set_id)
        REFERENCES proctor.run_set (tenant_id, id)
);
CREATE INDEX ix_kept_side_tenant_id_run_set_id_profile ON proctor.kept_side (tenant_id, run_set_id, profile);
COMMENT ON COLUMN proctor.kept_side.cells IS 'the same for two sides only if they stand for the very same cells';
COMMENT ON COLUMN proctor.kept_side.priced IS 'tasks of which every attempt told its cost; the sums are theirs';
COMMENT ON COLUMN proctor.kept_side.unpriced IS 'tasks with an attempt that did not';
COMMENT ON COLUMN proctor.kept_side.kept IS 'its tasks are counted, and whoever changes them since sees it';
COMMENT ON COLUMN proctor.kept_side.used_at IS 'to the minute';

-- As many rows as a suite has tasks are written at once: without a reference that is checked for each.
CREATE TABLE proctor.side_task (
    tenant_id UUID NOT NULL,
    side_id UUID NOT NULL,
    place INTEGER NOT NULL,
    key UUID NOT NULL,
    content_digest TEXT NOT NULL,
    name TEXT NOT NULL,
    difficulty TEXT,
    category TEXT,
    cells INTEGER NOT NULL,
    expected INTEGER NOT NULL,
    decided INTEGER NOT NULL,
    passed INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    priced INTEGER NOT NULL,
    cost_nano BIGINT,
    seconds FLOAT,
    CONSTRAINT pk_side_task PRIMARY KEY (tenant_id, side_id, place)
);
CREATE INDEX ix_side_task_open ON proctor.side_task (tenant_id, side_id) WHERE decided < cells;
COMMENT ON COLUMN proctor.side_task.place IS 'in the order of what the agent sees and what judges';
COMMENT ON COLUMN proctor.side_task.key IS 'of what the agent sees and what judges: by it the tasks of two sides are the same';
COMMENT ON COLUMN proctor.side_task.difficulty IS 'as its author says in a word of a usual length; NULL: not so';
COMMENT ON COLUMN proctor.side_task.cells IS 'withdrawn ones too';
COMMENT ON COLUMN proctor.side_task.attempts IS 'that ended, behind the cells that are expected';
COMMENT ON COLUMN proctor.side_task.priced IS 'attempts that told their cost';

-- No key and no reference: whoever ends an attempt waits here for nobody.
CREATE TABLE proctor.side_change (
    tenant_id UUID NOT NULL,
    id UUID DEFAULT gen_random_uuid() NOT NULL,
    side_id UUID NOT NULL,
    CONSTRAINT pk_side_change PRIMARY KEY (tenant_id, side_id, id)
);

CREATE FUNCTION proctor.change_sides() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    IF EXISTS (SELECT FROM proctor.kept_side) THEN
        INSERT INTO proctor.side_change (tenant_id, side_id)
        SELECT DISTINCT k.tenant_id, k.id
        FROM changed n
        JOIN proctor.expected_cell e ON e.tenant_id = n.tenant_id AND e.cell_id = n.cell_id
        JOIN proctor.kept_side k ON k.tenant_id = e.tenant_id AND k.run_set_id = e.run_set_id AND k.profile = e.profile
        WHERE NOT EXISTS (SELECT FROM proctor.side_change c WHERE c.tenant_id = k.tenant_id AND c.side_id = k.id);
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION proctor.change_sides() IS
    'sides that stand for cells of which something was written are no longer what was kept of them';

CREATE TRIGGER change_sides AFTER INSERT ON proctor.expected_cell REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION proctor.change_sides();
CREATE TRIGGER change_sides_again AFTER UPDATE ON proctor.expected_cell REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION proctor.change_sides();
CREATE TRIGGER change_sides AFTER INSERT ON proctor.attempt REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION proctor.change_sides();
CREATE TRIGGER change_sides_again AFTER UPDATE ON proctor.attempt REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION proctor.change_sides();
CREATE TRIGGER change_sides AFTER INSERT ON proctor.result REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION proctor.change_sides();

-- Rows are the tenant's that the transaction named.
ALTER TABLE proctor.kept_side ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.kept_side FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.kept_side
    USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
GRANT SELECT, INSERT, UPDATE, DELETE ON proctor.kept_side TO proctor_app, proctor_scheduler;

ALTER TABLE proctor.side_task ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.side_task FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.side_task
    USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
GRANT SELECT, INSERT, DELETE ON proctor.side_task TO proctor_app, proctor_scheduler;

ALTER TABLE proctor.side_change ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.side_change FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.side_change
    USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
GRANT SELECT, INSERT, DELETE ON proctor.side_change TO proctor_app, proctor_scheduler;
