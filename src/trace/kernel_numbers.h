/*
 * Numbers in CUPTI's record of a kernel that need no more than to be passed on. Each row makes the member of the
 * decoded record, the argument in every format, the column of a database and the field that the report may look at.
 *
 *      argument, its name in the file, and the field of struct event_fields; the member, and that of CUPTI's record
 */
#ifndef GPUTRACE_TRACE_KERNEL_NUMBERS_H
#define GPUTRACE_TRACE_KERNEL_NUMBERS_H

#define KERNEL_NUMBERS(X) \
    X(REGISTERS, "registers per thread", NUMBER, of.kernel.registers, ARGS_KERNEL, registers, registersPerThread)

#endif
