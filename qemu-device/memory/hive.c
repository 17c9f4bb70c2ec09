/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: an XGMI hive. The operator creates the hive before its devices:
 *
 *   -object vgpu-hive,id=h0 -device vgpu-kfd,hive=h0 -device vgpu-kfd,hive=h0
 *
 * Specification: docs/hardware.md, Hives.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "qemu/module.h"
#include "qom/object_interfaces.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/memory/hive.h"
#include "hw/misc/vgpu-kfd/memory/internal.h"

#define HIVE_ID_DEFAULT     1

static void get_hive_id(Object *obj, Visitor *v, const char *name, void *opaque,
                        Error **errp)
{
    uint64_t id = VGPU_HIVE(obj)->id;

    visit_type_uint64(v, name, &id, errp);
}

static void set_hive_id(Object *obj, Visitor *v, const char *name, void *opaque,
                        Error **errp)
{
    VGPUHive *h = VGPU_HIVE(obj);
    uint64_t id;

    if (!visit_type_uint64(v, name, &id, errp)) {
        return;
    }
    if (h->complete) {
        error_setg(errp, "%s cannot be changed any more", name);
    } else if (!id) {
        error_setg(errp, "%s must not be 0", name);
    } else {
        h->id = id;
    }
}

static int has_same_id(Object *obj, void *opaque)
{
    const VGPUHive *h = opaque;
    VGPUHive *other = (VGPUHive *)object_dynamic_cast(obj, TYPE_VGPU_HIVE);

    return other && other != h && other->complete && other->id == h->id;
}

static void vgpu_hive_complete(UserCreatable *uc, Error **errp)
{
    VGPUHive *h = VGPU_HIVE(uc);

    if (object_child_foreach(object_get_objects_root(), has_same_id, h)) {
        error_setg(errp, "hive-id %" PRIu64 " is used by another vgpu-hive",
                   h->id);
        return;
    }
    h->complete = true;
}

static bool vgpu_hive_can_be_deleted(UserCreatable *uc)
{
    VGPUHive *h = VGPU_HIVE(uc);
    unsigned n;

    for (n = 0; n < VGPU_XGMI_NODES; n++) {
        if (h->node[n]) {
            return false;
        }
    }
    return true;
}

static void vgpu_hive_instance_init(Object *obj)
{
    VGPUHive *h = VGPU_HIVE(obj);

    h->id = HIVE_ID_DEFAULT;
    qemu_mutex_init(&h->lock);
}

static void vgpu_hive_instance_finalize(Object *obj)
{
    qemu_mutex_destroy(&VGPU_HIVE(obj)->lock);
}

static void vgpu_hive_class_init(ObjectClass *klass, void *data)
{
    UserCreatableClass *uc = USER_CREATABLE_CLASS(klass);

    uc->complete = vgpu_hive_complete;
    uc->can_be_deleted = vgpu_hive_can_be_deleted;
    object_class_property_add(klass, "hive-id", "uint64", get_hive_id,
                              set_hive_id, NULL, NULL);
    object_class_property_set_description(klass, "hive-id",
        "number of the hive that the guest reads, not 0");
}

static const TypeInfo vgpu_hive_info = {
    .name = TYPE_VGPU_HIVE,
    .parent = TYPE_OBJECT,
    .instance_size = sizeof(VGPUHive),
    .instance_init = vgpu_hive_instance_init,
    .instance_finalize = vgpu_hive_instance_finalize,
    .class_init = vgpu_hive_class_init,
    .interfaces = (InterfaceInfo[]) {
        { TYPE_USER_CREATABLE },
        { }
    },
};

static void vgpu_hive_register_types(void)
{
    type_register_static(&vgpu_hive_info);
}

type_init(vgpu_hive_register_types)

static void get_hive(Object *obj, Visitor *v, const char *name, void *opaque,
                     Error **errp)
{
    VGPUHive *h = *(VGPUHive **)object_field_prop_ptr(obj, opaque);
    g_autofree char *path = h ? object_get_canonical_path(OBJECT(h))
                              : g_strdup("");

    visit_type_str(v, name, &path, errp);
}

/* Return the hive at QOM path @path, which may be partial: just an id. */
static Object *resolve_hive_path(const char *path, Error **errp)
{
    bool ambiguous = false;
    Object *target = object_resolve_path_type(path, TYPE_VGPU_HIVE, &ambiguous);

    if (ambiguous) {
        error_setg(errp, "there are several vgpu-hive '%s'", path);
    } else if (!target && (object_resolve_path(path, &ambiguous) ||
                           ambiguous)) {
        error_setg(errp, "'%s' is no vgpu-hive", path);
    } else if (!target) {
        error_set(errp, ERROR_CLASS_DEVICE_NOT_FOUND,
                  "vgpu-hive '%s' not found", path);
    }
    return target;
}

/*
 * Setter of property hive. The value is the id of a vgpu-hive object, or "" for
 * no hive.
 */
static void set_hive(Object *obj, Visitor *v, const char *name, void *opaque,
                     Error **errp)
{
    ERRP_GUARD();
    VGPUHive **hive = object_field_prop_ptr(obj, opaque);
    g_autofree char *path = NULL;
    Object *target = NULL;

    if (visit_type_str(v, name, &path, errp) && *path) {
        target = resolve_hive_path(path, errp);
    }
    if (*errp) {
        /* Old versions took a number, so say that an object's id is needed. */
        error_prepend(errp, "%s needs the id of a vgpu-hive object, as in "
                      "-object vgpu-hive,id=h0: ", name);
        return;
    }
    qdev_prop_allow_set_link_before_realize(obj, name, target, errp);
    if (*errp) {
        return;
    }
    object_ref(target);
    object_unref(*hive);
    *hive = (VGPUHive *)target;
}

static void release_hive(Object *obj, const char *name, void *opaque)
{
    object_unref(*(VGPUHive **)object_field_prop_ptr(obj, opaque));
}

static Object *resolve_hive(Object *obj, void *opaque, const char *part)
{
    return *(Object **)object_field_prop_ptr(obj, opaque);
}

/*
 * Create a link property like that of qdev_prop_link, but with set_hive() as
 * setter, because the error messages of QOM's setter cannot be changed.
 */
static ObjectProperty *create_hive_property(ObjectClass *oc, const char *name,
                                            const Property *prop)
{
    ObjectProperty *op =
        object_class_property_add(oc, name, "link<" TYPE_VGPU_HIVE ">",
                                  get_hive, set_hive, release_hive,
                                  (Property *)prop);

    op->resolve = resolve_hive;
    return op;
}

const PropertyInfo vgpu_prop_hive = {
    .type = "link",
    .description = "ID of the vgpu-hive object that the device joins",
    .create = create_hive_property,
};
