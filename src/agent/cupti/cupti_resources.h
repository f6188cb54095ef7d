/*
 * CUPTI's callbacks of resources, told to the registry and to the phases of compilation: contexts that come and go,
 * streams that go, machine code that comes into a context, nodes of graphs.
 *
 * Many come within a driver call that has a callback, too: what they tell then has that call's name, begin and
 * correlation. Which of them are on stands in callback_switches.c.
 */
#ifndef GPUTRACE_AGENT_CUPTI_CUPTI_RESOURCES_H
#define GPUTRACE_AGENT_CUPTI_CUPTI_RESOURCES_H

#include <cupti.h>

struct open_call;

/* CUPTI told CBID, a CUpti_CallbackIdResource, of what DATA, which is CUPTI's, says, on the thread that did it, in the
 * driver call OPEN (NULL: in none that has a callback); what is told of the resource is noted there. */
void cupti_resource_changed(CUpti_CallbackId cbid, const CUpti_ResourceData *data, struct open_call *open);

#endif
