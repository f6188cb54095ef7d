/* The names of callbacks, from the toolkit's own lists, and of results. NULL for ids that do not exist. */
#ifndef SIMGPU_CUPTI_NAMES_H
#define SIMGPU_CUPTI_NAMES_H

#include <cupti.h>

const char *names_callback(CUpti_CallbackDomain domain, CUpti_CallbackId cbid);
const char *names_result(CUptiResult result);
const char *names_result_message(CUptiResult result);

#endif
