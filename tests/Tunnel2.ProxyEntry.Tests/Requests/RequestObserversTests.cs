using Tunnel2.Multiplexing.Streams;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Tests.Requests;

public sealed class RequestObserversTests
{
    private readonly List<string> _told = [];

    [Fact]
    public void Each_gets_what_it_wants_in_the_order_of_the_list()
    {
        var observers = new RequestObservers(
        [
            new Recorder("a", RequestMoments.Began | RequestMoments.Ended, _told),
            new Recorder("nothing", RequestMoments.None, _told),
            new Recorder("all", (RequestMoments)~0, _told),
        ]);
        TellAll(observers);
        Assert.Equal(
            [
                "a Began", "all Began", "all StreamOpened", "all Answered", "all Moved", "all StreamEnded", "all Failed", "all Lasts",
                "a Ended", "all Ended",
            ],
            _told);
    }

    [Fact]
    public void Without_observers_telling_costs_nothing()
    {
        var observers = new RequestObservers([new Recorder("nothing", RequestMoments.None, _told)]);
        TellAll(observers);
        var (exchange, request) = (new SampleExchange(), new ForwardedRequest());
        var before = GC.GetAllocatedBytesForCurrentThread();
        TellAll(observers, exchange, request);
        Assert.Equal(0, GC.GetAllocatedBytesForCurrentThread() - before);
        Assert.Empty(_told);
    }

    [Theory]
    [InlineData("VisitorAborted", 30L, 30)]
    [InlineData("Aborted", 0L, 0)]
    [InlineData("Aborted", null, 50)]
    [InlineData("VisitorAborted", 60L, 50)]
    [InlineData("Completed", 30L, 50)]
    [InlineData("Upgraded", 30L, 50)]
    public void Of_an_answer_that_was_cut_they_learn_what_was_sent(string outcome, long? sent, long learned)
    {
        var request = new ForwardedRequest { BytesSent = 50 };
        new RequestObservers([]).Ended(new SampleExchange { HasSent = sent }, request, Enum.Parse<RequestOutcome>(outcome));
        Assert.Equal(learned, request.BytesSent);
    }

    private static void TellAll(RequestObservers observers) => TellAll(observers, new SampleExchange(), new ForwardedRequest());

    private static void TellAll(RequestObservers observers, SampleExchange exchange, ForwardedRequest request)
    {
        observers.Began(exchange, request);
        observers.StreamOpened(exchange, request);
        observers.Answered(exchange, request, default, 0);
        observers.Moved(exchange, request, default);
        observers.StreamEnded(exchange, request);
        observers.Failed(exchange, request, isAnswered: false);
        observers.Lasts(request);
        observers.Ended(exchange, request, RequestOutcome.Completed);
    }

    private sealed class Recorder(string name, RequestMoments moments, List<string> told) : RequestObserver
    {
        public override RequestMoments Moments => moments;

        public override void OnBegan(VisitorExchange exchange, ForwardedRequest request) => Report(RequestMoments.Began);

        public override void OnStreamOpened(VisitorExchange exchange, ForwardedRequest request) => Report(RequestMoments.StreamOpened);

        public override void OnAnswered(VisitorExchange exchange, ForwardedRequest request, in ResponseFacts facts, long at) =>
            Report(RequestMoments.Answered);

        public override void OnMoved(VisitorExchange exchange, ForwardedRequest request, in StreamFailure failure) =>
            Report(RequestMoments.Moved);

        public override void OnStreamEnded(VisitorExchange exchange, ForwardedRequest request) => Report(RequestMoments.StreamEnded);

        public override void OnFailed(VisitorExchange exchange, ForwardedRequest request, bool isAnswered) => Report(RequestMoments.Failed);

        public override void OnLasts(ForwardedRequest request) => Report(RequestMoments.Lasts);

        public override void OnEnded(VisitorExchange exchange, ForwardedRequest request, RequestOutcome outcome) =>
            Report(RequestMoments.Ended);

        private void Report(RequestMoments moment) => told.Add($"{name} {moment}");
    }
}
