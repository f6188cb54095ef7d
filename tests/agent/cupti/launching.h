/*
 * Functions that a program gets and launches, by a fake CUPTI, and what first_launches tells of them.
 */
#ifndef TESTS_AGENT_CUPTI_LAUNCHING_H
#define TESTS_AGENT_CUPTI_LAUNCHING_H

#include "tests/unit.h"

#include "tests/agent/cupti/fake_cupti.h"

#define LAUNCH CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel

/* The last name that was published, and how many were since launching_clear(). */
struct launching_published {
    unsigned count;
    uint32_t correlation;
    char text[64];
};
extern struct launching_published published;

/* For cmocka: subscribes the collector to the fake CUPTI, somebody wants names of launches. */
int launching_start(void **state);
/* After each test, which has launched or given up whatever it got. */
int launching_clear(void **state);

/* Somebody wants the names, and then nobody does. */
int launching_want(void);
int launching_want_no_more(void);

bool launches_are_on(void);

/* The program gets a function or a kernel called NAME, of the module or library 0x1. */
void get_function(const char *name);
void get_kernel(const char *name, CUresult result);

/* Launches what is called NAME (may be NULL), by whatever handle. */
void launch(const char *name);
void launch_others(unsigned count);

#endif
