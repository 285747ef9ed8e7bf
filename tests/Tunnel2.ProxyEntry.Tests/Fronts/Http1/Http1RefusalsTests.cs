using Tunnel2.Http1;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Fronts.Http1;

namespace Tunnel2.ProxyEntry.Tests.Fronts.Http1;

public sealed class Http1RefusalsTests
{
    [Theory]
    [InlineData(Http1Error.InvalidTarget, 400)]
    [InlineData(Http1Error.MethodTooLong, 400)]
    [InlineData(Http1Error.RequestTimeout, 408)]
    [InlineData(Http1Error.BodyTooLarge, 413)]
    [InlineData(Http1Error.RequestLineTooLong, 414)]
    [InlineData(Http1Error.HeadTooLarge, 431)]
    [InlineData(Http1Error.TooManyFields, 431)]
    [InlineData(Http1Error.ConnectNotSupported, 501)]
    [InlineData(Http1Error.UnsupportedTransferCoding, 501)]
    [InlineData(Http1Error.UnsupportedVersion, 505)]
    internal void Each_error_has_the_status_that_explains_it(Http1Error error, int status) =>
        Assert.Equal(status, ProxyErrorCatalog.Get(error.ToProxyError()).Status);
}
