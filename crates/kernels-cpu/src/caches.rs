//! Cache sizes as the processor reports them (`cpuid`).

/// Size in bytes of an L3 victim cache, which holds the lines evicted from the cores' L2 caches, as
/// on AMD's processors since Zen; 0 on all other processors.
///
/// If a result fits in a victim cache, ordinary stores write it faster than non-temporal ones: the
/// rate of non-temporal stores does not grow with the number of cores. On a Sapphire Rapids server,
/// non-temporal stores are faster even if the result would fit.
pub fn l3_victim_cache_bytes() -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        static BYTES: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
        *BYTES.get_or_init(|| {
            let processor = raw_cpuid::CpuId::new();
            let is_amd = processor.get_vendor_info().is_some_and(|vendor| vendor.as_str() == "AuthenticAMD");
            let mut caches = processor.get_cache_parameters().filter(|_| is_amd).into_iter().flatten();
            let l3 = caches.find(|cache| cache.level() == 3);
            l3.map_or(0, |cache| {
                cache.sets() * cache.associativity() * cache.physical_line_partitions() * cache.coherency_line_size()
            })
        })
    }
    #[cfg(not(target_arch = "x86_64"))]
    0
}

#[cfg(test)]
mod tests {
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    #[test]
    fn l3_size_is_the_one_in_sysfs() {
        let bytes = super::l3_victim_cache_bytes();
        let Ok(system) = std::fs::read_to_string("/sys/devices/system/cpu/cpu0/cache/index3/size") else {
            return test_support::skip(
                test_support::Need::CacheSize,
                "/sys/devices/system/cpu does not state the L3 cache's size",
            );
        };
        let is_amd = std::fs::read_to_string("/proc/cpuinfo").unwrap().contains("AuthenticAMD");
        let expected = if is_amd { system.trim().trim_end_matches('K').parse::<usize>().unwrap() << 10 } else { 0 };
        assert_eq!(bytes, expected);
    }
}
