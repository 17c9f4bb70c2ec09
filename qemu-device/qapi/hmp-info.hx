
    {
        .name       = "vgpu",
        .args_type  = "",
        .params     = "",
        .help       = "show vgpu-kfd devices: engines, queues, faults, counters",
    },

SRST
  ``info vgpu``
    Show vgpu-kfd devices: engines, queues, faults, counters.
ERST
