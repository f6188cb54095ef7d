/*
 * Perfetto's trace format: the numbers of the fields that gputrace writes and reads, and how it uses them.
 *
 * Each list names the file of https://github.com/google/perfetto that the numbers are from (of mid-2026), below
 * protos/perfetto. What readers of older versions do not know, they pass over.
 *
 * A file is one piece after another. In a piece every row of the trace (struct row) is a packet sequence of its own,
 * with up to three of them for its slices of different sorts (enum pftrace_lane), so that
 *
 *   - the row is written once, as the sequence's default track, and not with every event;
 *   - times are differences from the packet before, of one row, and so take two or three bytes (PFTRACE_CLOCK_DELTA);
 *     a packet that is earlier than the one before it has the time since the trace's base (PFTRACE_CLOCK_SINCE_BASE);
 *   - interned texts need no agreement between those who write pieces at the same time: a sequence begins by clearing
 *     its state, and its number may have been another row's in an earlier piece.
 *
 * A piece is one section or several, each of which begins with a packet that holds PFTRACE_OWN_SECTION: it says
 * that from there on nothing is asked for that stands before it, be it what sequences have interned, their clocks, or
 * tracks of counters. So sections can be read by several threads; a reader forgets all when one begins.
 *
 * In a file each section is compressed: its packets are the compressed_packets of one packet, whose
 * first field is PFTRACE_OWN_SECTION. What stands before the first section is compressed without that field. A
 * .pftrace.gz is compressed as a whole instead, and its sections are not.
 *
 * A slice is a BEGIN directly followed by its END, or a GPU_RENDER_STAGE_EVENT. Perfetto sorts packets by time, and
 * those of one time by their place in the file; writer_events.c says what this asks of writers.
 *
 * What Perfetto has no field for and a reader of ours needs is in fields of our own, PFTRACE_OWN_*: numbers of a range
 * that no message of Perfetto's uses, passed over by all others.
 */
#ifndef GPUTRACE_TRACE_PFTRACE_FIELDS_H
#define GPUTRACE_TRACE_PFTRACE_FIELDS_H

#include <stdint.h>

/* trace/trace.proto: Trace */
enum { PB_TRACE_PACKET = 1 };

/* trace/trace_packet.proto: TracePacket */
enum {
    PB_PACKET_CLOCK_SNAPSHOT = 6,
    PB_PACKET_TIMESTAMP = 8,
    PB_PACKET_SEQUENCE_ID = 10, /* trusted_packet_sequence_id */
    PB_PACKET_TRACK_EVENT = 11,
    PB_PACKET_INTERNED_DATA = 12,
    PB_PACKET_SEQUENCE_FLAGS = 13,
    PB_PACKET_COMPRESSED_PACKETS = 50, /* a zlib stream of packets with their frames, none of which has this field */
    PB_PACKET_GPU_RENDER_STAGE_EVENT = 53,
    PB_PACKET_TIMESTAMP_CLOCK_ID = 58,
    PB_PACKET_DEFAULTS = 59, /* trace_packet_defaults */
    PB_PACKET_TRACK_DESCRIPTOR = 60,
    PB_PACKET_TRACE_ATTRIBUTES = 126,
    PB_PACKET_GPU_INFO = 128,
};
enum { PB_SEQUENCE_STATE_CLEARED = 1 }; /* SEQ_INCREMENTAL_STATE_CLEARED */

/* trace/trace_packet_defaults.proto: TracePacketDefaults; trace/track_event/track_event.proto: TrackEventDefaults */
enum { PB_DEFAULTS_TRACK_EVENT = 11, PB_DEFAULTS_CLOCK_ID = 58 };
enum { PB_EVENT_DEFAULTS_TRACK_UUID = 11 };

/* trace/clock_snapshot.proto: ClockSnapshot, ClockSnapshot.Clock; common/builtin_clock.proto */
enum { PB_SNAPSHOT_CLOCK = 1, PB_SNAPSHOT_PRIMARY_TRACE_CLOCK = 2 };
enum { PB_CLOCK_ID = 1, PB_CLOCK_TIMESTAMP = 2, PB_CLOCK_IS_INCREMENTAL = 3 };
enum { PB_CLOCK_REALTIME_ID = 1, PB_CLOCK_BOOTTIME_ID = 6 };
/* Of the sequence that defines them: 64 to 127. */
enum { PFTRACE_CLOCK_DELTA = 64, PFTRACE_CLOCK_SINCE_BASE = 65 };

/* common/trace_attributes.proto: TraceAttributes, TraceAttributes.Attribute. The trace's metadata: each key of the JSON
 * with its value as text of JSON. Perfetto shows them in its overview, as `trace_attribute.KEY`. */
enum { PB_ATTRIBUTES_ATTRIBUTE = 1 };
enum { PB_ATTRIBUTE_KEY = 1, PB_ATTRIBUTE_STRING_VALUE = 3 };

/* trace/system_info/gpu_info.proto: GpuInfo, GpuInfo.Gpu, GpuInfo.Gpu.KeyValue. GPU n is the n-th; the bytes of its
 * uuid are shown as digits (ParseGpuInfo() of src/trace_processor/importers/proto/system_probes_parser.cc). */
enum { PB_GPU_INFO_GPUS = 1 };
enum {
    PB_GPU_NAME = 1,
    PB_GPU_VENDOR = 2,
    PB_GPU_MODEL = 3,
    PB_GPU_ARCHITECTURE = 4,
    PB_GPU_UUID = 5,
    PB_GPU_EXTRA_INFO = 6,
    PB_GPU_PCI_BDF = 7,
};
enum { PB_GPU_EXTRA_KEY = 1, PB_GPU_EXTRA_VALUE = 2 };

/* trace/interned_data/interned_data.proto: InternedData; trace/gpu/gpu_interned_data.proto, which extends it (1000 and
 * 1001: as PyTorch's sink of such traces has them, torch/csrc/profiler/cuspy/cuspy_pftrace.cpp) */
enum {
    PB_INTERNED_EVENT_CATEGORIES = 1,
    PB_INTERNED_EVENT_NAMES = 2,
    PB_INTERNED_ANNOTATION_NAMES = 3, /* debug_annotation_names */
    PB_INTERNED_FUNCTION_NAMES = 5,
    PB_INTERNED_FRAMES = 6,
    PB_INTERNED_CALLSTACKS = 7,
    PB_INTERNED_MAPPING_PATHS = 17,
    PB_INTERNED_SOURCE_PATHS = 18,
    PB_INTERNED_MAPPINGS = 19,
    PB_INTERNED_GRAPHICS_CONTEXTS = 23,
    PB_INTERNED_GPU_SPECIFICATIONS = 24,
    PB_INTERNED_STRING_VALUES = 29, /* debug_annotation_string_values */
    PB_INTERNED_COMPUTE_KERNELS = 1000,
    PB_INTERNED_COMPUTE_ARG_NAMES = 1001,
};
/* EventCategory, EventName, DebugAnnotationName, InternedString, InternedComputeArgName */
enum { PB_INTERNED_IID = 1, PB_INTERNED_NAME = 2 };

/* trace/profiling/profile_common.proto: Mapping, Frame, Callstack, whose first field is PB_INTERNED_IID. The frame that
 * was called last comes last. A frame whose function is not known has its place in a mapping. */
enum { PB_MAPPING_PATH_STRING_IDS = 7 };
enum {
    PB_FRAME_FUNCTION_NAME_ID = 2,
    PB_FRAME_MAPPING_ID = 3,
    PB_FRAME_REL_PC = 4,
    PB_FRAME_SOURCE_PATH_IID = 5,
    PB_FRAME_LINE_NUMBER = 6,
};
enum { PB_CALLSTACK_FRAME_IDS = 2 };

/* trace/track_event/track_descriptor.proto and its neighbours: TrackDescriptor, ProcessDescriptor, ThreadDescriptor,
 * CounterDescriptor */
enum {
    PB_TRACK_UUID = 1,
    PB_TRACK_NAME = 2,
    PB_TRACK_PROCESS = 3,
    PB_TRACK_THREAD = 4,
    PB_TRACK_PARENT_UUID = 5,
    PB_TRACK_COUNTER = 8,
    PB_TRACK_CHILD_ORDERING = 11,
    PB_TRACK_SIBLING_ORDER_RANK = 12,
    PB_TRACK_DESCRIPTION = 14,
};
enum { PB_CHILD_ORDERING_EXPLICIT = 3 };
enum { PB_PROCESS_PID = 1, PB_PROCESS_NAME = 6 };
enum { PB_THREAD_PID = 1, PB_THREAD_TID = 2, PB_THREAD_NAME = 5 };
enum { PB_COUNTER_UNIT = 3 };
enum { PB_COUNTER_UNIT_COUNT = 2, PB_COUNTER_UNIT_SIZE_BYTES = 3 };

/* trace/track_event/track_event.proto: TrackEvent; trace/gpu/gpu_track_event.proto: 3000, and GpuCorrelation */
enum {
    PB_EVENT_CATEGORY_IIDS = 3,
    PB_EVENT_ANNOTATIONS = 4, /* debug_annotations */
    PB_EVENT_TYPE = 9,
    PB_EVENT_NAME_IID = 10,
    PB_EVENT_TRACK_UUID = 11,
    PB_EVENT_COUNTER_VALUE = 30,
    PB_EVENT_DOUBLE_COUNTER_VALUE = 44,
    PB_EVENT_FLOW_IDS = 47,             /* of a flow between two TrackEvents: it starts here … */
    PB_EVENT_TERMINATING_FLOW_IDS = 48, /* … or ends */
    PB_EVENT_CALLSTACK_IID = 56,        /* beside the argument "stack", which is what readers of ours go by */
    PB_EVENT_GPU_CORRELATION = 3000,
};
enum { PB_TYPE_SLICE_BEGIN = 1, PB_TYPE_SLICE_END = 2, PB_TYPE_INSTANT = 3, PB_TYPE_COUNTER = 4 };
/* Such a flow's number is that of the trace and one of these: those of calls and of operators are counted apart. */
#define PFTRACE_FLOW_OF_CALL (UINT64_C(1) << 32)
#define PFTRACE_FLOW_OF_OPERATOR (UINT64_C(2) << 32)
enum { PB_CORRELATION_SUBMISSION_IDS = 1 }; /* render_stage_submission_event_ids: what draws the flows */

/* trace/track_event/debug_annotation.proto: DebugAnnotation */
enum {
    PB_ANNOTATION_NAME_IID = 1,
    PB_ANNOTATION_BOOL = 2,
    PB_ANNOTATION_UINT = 3,
    PB_ANNOTATION_INT = 4,
    PB_ANNOTATION_DOUBLE = 5,
    PB_ANNOTATION_STRING = 6,
    PB_ANNOTATION_POINTER = 7,
    PB_ANNOTATION_JSON = 9, /* legacy_json_value */
    PB_ANNOTATION_STRING_IID = 17,
};

/* trace/gpu/gpu_render_stage_event.proto: GpuRenderStageEvent, its ComputeKernelLaunch and ExtraComputeArg,
 * InternedGraphicsContext, InternedGpuRenderStageSpecification, InternedComputeKernel */
enum {
    PB_STAGE_EVENT_ID = 1,
    PB_STAGE_DURATION = 2,
    PB_STAGE_CONTEXT = 5,
    PB_STAGE_GPU_ID = 11,
    PB_STAGE_HW_QUEUE_IID = 13,
    PB_STAGE_STAGE_IID = 14,
    PB_STAGE_KERNEL_IID = 19,
    PB_STAGE_LAUNCH = 21,
};
enum { PB_LAUNCH_ARGS = 3 };
enum {
    PB_COMPUTE_ARG_NAME_IID = 1,
    PB_COMPUTE_ARG_INT = 3,
    PB_COMPUTE_ARG_UINT = 4,
    PB_COMPUTE_ARG_DOUBLE = 5,
    PB_COMPUTE_ARG_STRING = 6,
};
enum { PB_CONTEXT_IID = 1, PB_CONTEXT_PID = 2, PB_CONTEXT_API = 3 };
enum { PB_CONTEXT_API_CUDA = 4 };
enum {
    PB_SPECIFICATION_IID = 1,
    PB_SPECIFICATION_NAME = 2,
    PB_SPECIFICATION_DESCRIPTION = 3,
    PB_SPECIFICATION_CATEGORY = 4
};
enum { PB_STAGE_CATEGORY_COMPUTE = 2 };
enum { PB_KERNEL_IID = 1, PB_KERNEL_ARGS = 5 };

/* Names of arguments that Perfetto's view of compute kernels knows; what a kernel's launches have in common stands in
 * the interned kernel, under the same names as a launch of its own would have. */
#define PFTRACE_GRID "launch.grid_size."
#define PFTRACE_BLOCK "launch.workgroup_size."
#define PFTRACE_REGISTERS "registers_per_thread"

/* --- ours --- */

enum {
    PFTRACE_OWN_CBID = 9901,           /* EventName: argument "cbid" of all events of this name, + 1 */
    PFTRACE_OWN_NO_CORRELATION = 9902, /* TracePacket of a TrackEvent, GpuRenderStageEvent: that of the flow is not an
                                        * argument */
    PFTRACE_OWN_FLOW_DELAY = 9904,     /* GpuRenderStageEvent: ns from the slice's start to the flow's head */
    PFTRACE_OWN_JSON = 9905,           /* ExtraComputeArg: string_value is JSON; 2: a text "0x…", 3: … */
    PFTRACE_OWN_COUNTER = 9906, /* TrackDescriptor: name of the counter, whose value of this name PB_TRACK_NAME is */
    PFTRACE_OWN_SERIES = 9907,  /* TrackDescriptor: name of the value; without: the counter has one value */
    PFTRACE_OWN_SERIES_FOLLOW =
        9908,                 /* TracePacket of a TrackEvent: so many values of the same counter and time follow */
    PFTRACE_OWN_OWNER = 9910, /* TrackDescriptor of a GPU's rows: pid of the process whose operations they show */
    PFTRACE_OWN_RANK = 9909,  /* TrackDescriptor: order as it was, where a rank has not its bits; zigzag */
    PFTRACE_OWN_COUNTER_U64 = 9912, /* TracePacket of a counter's value: the value, where it is beyond int64 */
    PFTRACE_OWN_WHOLE = 9913,       /* TracePacket, with nothing else in it: PFTRACE_FILE_BEGINS or PFTRACE_FILE_ENDS */
    PFTRACE_OWN_DERIVED = 9914,     /* ExtraComputeArg: it follows from other arguments and the GPU (writer_gpus.c) */
    PFTRACE_OWN_SECTION = 9911, /* TracePacket, with nothing else in it but compressed_packets: 1, a section begins */
};

/* The first packet of a file announces the last one: where that is missing, the file was cut off between packets. */
enum { PFTRACE_FILE_BEGINS = 1, PFTRACE_FILE_ENDS = 2 };

/* The lanes of a row: which of its sequences an event is in. */
enum pftrace_lane {
    PFTRACE_LANE_CALLS,   /* what threads do, and what is not a slice */
    PFTRACE_LANE_RANGES,  /* NVTX ranges: a track of their own below the thread's */
    PFTRACE_LANE_GPU_OPS, /* of GPUs, on Perfetto's GPU tracks */
    PFTRACE_LANE_COUNT,
};

/* Numbers of tracks: those of rows contain the row. */
#define PFTRACE_UUID_RANGES (UINT64_C(1) << 31)
#define PFTRACE_UUID_COUNTER (UINT64_C(1) << 62)
#define PFTRACE_UUID_ASYNC (UINT64_C(1) << 63)

/* PID's own track has TID 0. */
static inline uint64_t pftrace_uuid(uint32_t pid, uint32_t tid)
{
    return ((uint64_t)pid + 1) << 32 | tid;
}

#endif
