using System.IO.Pipelines;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Fronts.HttpContexts;
using Tunnel2.ProxyEntry.Tests.Configuration;

namespace Tunnel2.ProxyEntry.Tests.Fronts.HttpContexts;

public sealed class HttpContextExchangeTests
{
    private static readonly ProxyEntrySettings _settings = SettingsFixture.LoadValid();

    public static TheoryData<Type> Endings =>
        [
            typeof(IOException), typeof(ConnectionAbortedException), typeof(ConnectionResetException), typeof(InvalidOperationException),
            typeof(BadHttpRequestException),
        ];

    /// <summary>As Kestrel's HTTP/2 does once the connection has failed: the request that only ends must not fail by it.</summary>
    [Theory]
    [MemberData(nameof(Endings))]
    public void A_body_whose_connection_has_failed_can_be_left(Type ending)
    {
        var http = new DefaultHttpContext();
        http.Features.Set<IRequestBodyPipeFeature>(new Body(new FailedReader((Exception)Activator.CreateInstance(ending, "gone")!)));

        new HttpContextExchange(http, _settings).StopReadingBody();
    }

    private sealed record Body(PipeReader Reader) : IRequestBodyPipeFeature;

    private sealed class FailedReader(Exception ending) : PipeReader
    {
        public override void AdvanceTo(SequencePosition consumed)
        {
        }

        public override void AdvanceTo(SequencePosition consumed, SequencePosition examined)
        {
        }

        public override void CancelPendingRead() => throw ending;

        public override void Complete(Exception? exception = null)
        {
        }

        public override ValueTask<ReadResult> ReadAsync(CancellationToken cancellationToken = default) =>
            ValueTask.FromException<ReadResult>(ending);

        public override bool TryRead(out ReadResult result) => throw ending;
    }
}
