/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: -object vgpu-hive, and the device property that links to a hive. */
#ifndef HW_MISC_VGPU_KFD_MEMORY_HIVE_H
#define HW_MISC_VGPU_KFD_MEMORY_HIVE_H

#include "hw/qdev-properties.h"
#include "qom/object.h"

#define TYPE_VGPU_HIVE "vgpu-hive"
OBJECT_DECLARE_SIMPLE_TYPE(VGPUHive, VGPU_HIVE)

/*
 * A device whose property "node" has this value gets the lowest free node
 * number of its hive.
 */
#define VGPU_NODE_AUTO          (-1)

extern const PropertyInfo vgpu_prop_hive;

/*
 * Define a property of a device that holds a reference to a hive. The value is
 * the hive's id or QOM path, and can be set only before realize.
 */
#define DEFINE_PROP_VGPU_HIVE(_name, _state, _field) \
    DEFINE_PROP(_name, _state, _field, vgpu_prop_hive, VGPUHive *)

#endif /* HW_MISC_VGPU_KFD_MEMORY_HIVE_H */
