//! The body of a response that came through the layer.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tollgate::Permit;

pin_project! {
    /// The service's own body, or that of a denial.
    ///
    /// Where calls under way are counted ([`Concurrency`](tollgate::Concurrency)), it holds the call's place until it
    /// was sent, or is dropped.
    #[derive(Debug)]
    pub struct LimitedBody<B> {
        #[pin]
        kind: Kind<B>,
        permit: Option<Permit>,
    }
}

pin_project! {
    #[project = KindProjected]
    #[derive(Debug)]
    enum Kind<B> {
        Service { #[pin] body: B },
        Own { left: Bytes },
    }
}

impl<B> LimitedBody<B> {
    pub(crate) const fn of_service(body: B, permit: Option<Permit>) -> Self {
        Self { kind: Kind::Service { body }, permit }
    }

    pub(crate) fn own(body: String) -> Self {
        Self { kind: Kind::Own { left: body.into() }, permit: None }
    }
}

impl<B: Body<Data = Bytes>> Body for LimitedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        match self.project().kind.project() {
            KindProjected::Service { body } => body.poll_frame(context),
            KindProjected::Own { left } => {
                let frame = (!left.is_empty()).then(|| Ok(Frame::data(std::mem::take(left))));
                Poll::Ready(frame)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Service { body } => body.is_end_stream(),
            Kind::Own { left } => left.is_empty(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Service { body } => body.size_hint(),
            Kind::Own { left } => {
                SizeHint::with_exact(u64::try_from(left.len()).unwrap_or(u64::MAX))
            }
        }
    }
}
