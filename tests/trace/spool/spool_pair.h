/*
 * A fixture: a spool to be made, and the names of its file and of what is packed of it.
 */
#ifndef TESTS_TOOL_SPOOL_SPOOL_PAIR_H
#define TESTS_TOOL_SPOOL_SPOOL_PAIR_H

#include "tests/unit.h"

#include "tests/trace/meaning/make_spool.h"
#include "trace/spool/spool_file.h"

static char path[512], packed_path[512];
static struct make_spool spool;

/* *STATE is the directory, which is removed in the end. */
UNIT_FIXTURE(set_up)
{
    *state = (void *)unit_directory();
    snprintf(path, sizeof(path), "%s/1-0.spool", (const char *)*state);
    assert_int_equal(packed_file_name(path, packed_path, sizeof(packed_path)), 0);
    make_spool_init(&spool, 1, 130001);
    return 0;
}

UNIT_FIXTURE(tear_down)
{
    make_spool_release(&spool);
    unit_remove(*state);
    return 0;
}

#endif
