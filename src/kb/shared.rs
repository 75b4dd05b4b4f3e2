//! A store that is shared with others, as a whole.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::error::KbError;
use super::index::{Limits, StoreAccess, StoreAddress, StoreServer, StoreState, setup_script};

/// The SQL that sets a store up: what this version keeps there, and roles that read it, or read and write
/// it.
pub fn store_setup_script(readers: &[String], writers: &[String]) -> String {
    setup_script(readers, writers)
}

/// A store, to be set up and looked after. All verbs block.
pub struct StoreAdministration {
    server: Arc<StoreServer>,
}

impl StoreAdministration {
    /// Prepares for the store at an address; connects with the first call.
    pub fn new(access: &StoreAccess) -> Result<Self, KbError> {
        let server = StoreServer::new(StoreAddress::parse(access)?)?;
        Ok(Self { server })
    }

    /// Makes the tables of this version that are missing.
    pub fn prepare(&self, stop: &AtomicBool) -> Result<(), KbError> {
        self.server.prepare(Limits::of_a_call(stop))
    }

    /// Reads the state of the store; makes nothing.
    pub fn state(&self, stop: &AtomicBool) -> Result<StoreState, KbError> {
        self.server.state(Limits::of_a_call(stop))
    }

    /// Removes a space; whether there was one. [`KbError::Locked`] while it is written.
    pub fn drop_space(&self, name: &str, stop: &AtomicBool) -> Result<bool, KbError> {
        self.server.drop_space(name, Limits::of_a_call(stop))
    }
}
