using Tunnel2.Client.Core.Backend;

namespace Tunnel2.Client.Core.Http2;

/// <summary>A place for a request on a connection, or why there is none.</summary>
/// <param name="Connection">The connection; the place is to be used, or given back.</param>
/// <param name="Failure">Why there is none.</param>
/// <param name="SpeaksHttp1">Whether the service does not speak HTTP/2, and HTTP/1.1 is to be tried.</param>
internal readonly record struct Http2Place(Http2Connection? Connection, BackendFailure Failure, bool SpeaksHttp1 = false);
