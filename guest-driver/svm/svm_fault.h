/* SPDX-License-Identifier: GPL-2.0 */
/* Faults of GPUs, as other files see their service: svm_fault.c. */
#ifndef SVM_FAULT_H
#define SVM_FAULT_H

struct kfd_node;
struct svm_range_list;

/* A fault maps at most this much, whatever the granularity says: 64 MiB. */
#define SVM_FAULT_MAX_ORDER	14

int svm_fault_init(struct kfd_node *node);
void svm_fault_fini(struct kfd_node *node);
/* Memory goes away: what faulted before is no error of the process. */
void svm_fault_checkpoint(struct svm_range_list *svms);
/* Every fault entry that the worker has by now is acknowledged on return. */
void svm_fault_flush(struct svm_range_list *svms);

#endif /* SVM_FAULT_H */
