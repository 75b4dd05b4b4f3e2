//! A store that is shared with others, as a whole.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::error::KbError;
use super::index::{Limits, StoreAccess, StoreAddress, StoreServer, StoreState};

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

    /// Lets a role of the server read, or read and write.
    pub fn grant(&self, role: &str, writes: bool, stop: &AtomicBool) -> Result<(), KbError> {
        self.server.grant(role, writes, Limits::of_a_call(stop))
    }

    /// Takes back what a role of the server was let do.
    pub fn revoke(&self, role: &str, stop: &AtomicBool) -> Result<(), KbError> {
        self.server.revoke(role, Limits::of_a_call(stop))
    }

    /// Removes a folder's documents from a space; whether there were any. [`KbError::Locked`] while
    /// the space is written.
    pub fn drop_folder(
        &self,
        space: &str,
        folder: &str,
        stop: &AtomicBool,
    ) -> Result<bool, KbError> {
        self.server
            .drop_folder(space, folder, Limits::of_a_call(stop))
    }

    /// Removes a space; whether there was one. [`KbError::Locked`] while it is written.
    pub fn drop_space(&self, name: &str, stop: &AtomicBool) -> Result<bool, KbError> {
        self.server.drop_space(name, Limits::of_a_call(stop))
    }
}
