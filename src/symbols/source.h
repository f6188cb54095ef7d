/*
 * Where in its sources the code at an address comes from, by a file's debugging information.
 */
#ifndef GPUTRACE_SYMBOLS_SOURCE_H
#define GPUTRACE_SYMBOLS_SOURCE_H

#include <stdint.h>

#include "trace/frames.h"
#include "trace/names.h"

struct Dwfl_Module;

/*
 * Sets file and line of FRAME, which is of the function that ADDRESS (as MODULE has it) lies in, and its inlined calls,
 * an array that the caller frees. Texts are put into NAMES. What is not known stays as it is.
 * Gives 0, or -1 after error().
 */
int source_find(struct Dwfl_Module *module, uint64_t address, struct names *names, struct stack_frame *frame);

#endif
