/*
 * What the program's functions are called, told as soon as it gets them: whoever tells later what launches a function
 * needs no more than its handle.
 */
#ifndef GPUTRACE_AGENT_CUPTI_FUNCTION_NAMES_H
#define GPUTRACE_AGENT_CUPTI_FUNCTION_NAMES_H

#include <cuda.h>

/* Finds the driver's functions that are asked. Takes the dynamic loader's lock. */
void function_names_init(void);

/* FUNCTION (a CUfunction or CUkernel) is called NAME; either may be NULL: nothing is told. Told once, and again when a
 * function that was loaded later has the handle of one that is gone. */
void function_name_tell(const void *function, const char *name);

/* What the driver says that it is called, when the call that gave the handle did not tell; it has the text. NULL: it
 * does not say, or nobody wants to know. */
const char *function_name_ask(CUfunction function);
const char *kernel_name_ask(CUkernel kernel);

/* Nobody wants the names any more. */
void function_names_forget(void);

/* In a forked child: what was told is in the parent's spool. */
void function_names_leave(void);

/* For tests: these instead of the driver's. */
void function_names_replace_driver(CUresult (*of_function)(const char **name, CUfunction function),
                                   CUresult (*of_kernel)(const char **name, CUkernel kernel));

#endif
