#include "trace/trace-hw_misc_vgpu_kfd.h"
