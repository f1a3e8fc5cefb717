//! What is made of `proto/rls.proto` is checked in, so that building takes neither protoc nor a build script.

use std::{env, fs};

use prost::Message;

const CODE: &str = "src/envoy/wire.rs";
const DESCRIPTORS: &str = "proto/rls.bin";

#[test]
fn the_generated_code_is_current() {
    let descriptors = protox::compile(["rls.proto"], ["proto"]).unwrap();
    let encoded = descriptors.encode_to_vec();
    let folder = tempfile::tempdir().unwrap();
    tonic_prost_build::configure()
        .build_client(false)
        .build_transport(false)
        .out_dir(folder.path())
        .compile_fds(descriptors)
        .unwrap();
    let code = fs::read(folder.path().join("envoy.service.ratelimit.v3.rs")).unwrap();
    if env::var_os("UPDATE_PROTO").is_some() {
        fs::write(CODE, &code).unwrap();
        fs::write(DESCRIPTORS, &encoded).unwrap();
    }
    for (checked_in, current) in [(CODE, code), (DESCRIPTORS, encoded)] {
        assert!(
            fs::read(checked_in).unwrap_or_default() == current,
            "{checked_in} is not what proto/rls.proto says; renew it with \
             `UPDATE_PROTO=1 cargo test -p tollgate-gateway --test envoy generated`"
        );
    }
}
