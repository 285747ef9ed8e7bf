using Tunnel2.Client.Core.Backend;

namespace Tunnel2.Client.Tests.Backend;

public sealed class OpeningPaceTests
{
    /// <summary>Times are microseconds.</summary>
    private const long Second = 1_000_000;
    private const long Millisecond = 1000;

    private readonly OpeningPace _pace = new(Second);

    /// <summary>
    /// A thousand visitors, each of whom asks again when it is answered, of a service as nginx is: in a round it answers what has come on
    /// its connections, 50 µs for each, and then accepts one.
    /// </summary>
    [Fact]
    public void A_service_that_accepts_one_in_a_round_has_few_to_accept_and_answers_all_soon()
    {
        const int Visitors = 1000;
        const int AtFirst = 50;
        Queue<long> waiters = [];
        Queue<(long Begun, long Since)> toAccept = [];
        List<long> busy = [];
        var (now, worst, mostToAccept, accepted) = (0L, 0L, 0, 0);
        for (var i = 0; i < Visitors; i++)
        {
            if (i < AtFirst)
            {
                busy.Add(now);
            }
            else
            {
                waiters.Enqueue(now);
            }
        }

        while (now < 3 * Second)
        {
            List<long> next = [];
            foreach (var since in busy)
            {
                now += 50;
                worst = Math.Max(worst, now - since);
                waiters.Enqueue(now);
                var served = waiters.Dequeue();
                _pace.HandOver(now, now - served);
                next.Add(served);
                Begin();
            }

            if (toAccept.TryDequeue(out var first))
            {
                now += 50;
                worst = Math.Max(worst, now - first.Since);
                accepted++;
                _pace.Answer(now, first.Begun);
                waiters.Enqueue(now);
                next.Add(waiters.Dequeue());
            }

            busy = next;
        }

        Assert.InRange(mostToAccept, 1, OpeningPace.First);
        Assert.InRange(accepted, 50, Visitors);
        Assert.InRange(worst, 1, Visitors * 50 * 5 / 2);

        // In each of the agent's rounds.
        void Begin()
        {
            for (var i = 0; i < LoopOpenings.MostInRound && waiters.Count > 0 && _pace.MayBegin(now); i++)
            {
                var since = waiters.Dequeue();
                _pace.Begin(now, now - since);
                toAccept.Enqueue((now, since));
                mostToAccept = Math.Max(mostToAccept, toAccept.Count);
            }
        }
    }

    [Fact]
    public void A_service_that_answers_nothing_for_long_gets_all_within_some_milliseconds()
    {
        var (now, begun) = (0L, 0);
        for (; begun < 1000; now += 100)
        {
            while (begun < 1000 && _pace.MayBegin(now))
            {
                _pace.Begin(now, now);
                begun++;
            }
        }

        Assert.InRange(now, 20 * Millisecond, 30 * Millisecond);
    }

    [Fact]
    public void A_distant_service_that_answers_new_ones_sooner_than_requests_wait_gets_twice_as_many_in_each_round_trip()
    {
        const long RoundTrip = 20 * Millisecond;
        Queue<long> open = [];
        var (begun, wait) = (0, 40 * Millisecond);
        for (var now = 0L; now < 8 * RoundTrip; now += 500)
        {
            // Some connections come back all the time, for requests that have waited for two round trips.
            _pace.HandOver(now, wait);
            while (open.TryPeek(out var first) && now - first >= RoundTrip)
            {
                _pace.Answer(now, open.Dequeue());
            }

            while (_pace.MayBegin(now))
            {
                _pace.Begin(now, wait);
                open.Enqueue(now);
                begun++;
            }
        }

        Assert.InRange(_pace.Window, 1000, OpeningPace.Most);
        Assert.InRange(begun, 1000, 10_000);
    }

    [Fact]
    public void A_connection_without_an_answer_for_long_keeps_no_others_from_beginning()
    {
        for (var i = 0; i < OpeningPace.First; i++)
        {
            Assert.True(_pace.MayBegin(0));
            _pace.Begin(0, 1);
        }

        for (var now = 500L; now < 100 * Millisecond; now += 500)
        {
            _pace.HandOver(now, 1);
            Assert.False(_pace.MayBegin(now));
        }

        _pace.HandOver(100 * Millisecond, 1);
        Assert.True(_pace.MayBegin(100 * Millisecond));
    }

    [Fact]
    public void Nothing_that_comes_back_lets_more_begin_only_until_something_does()
    {
        for (var now = 0L; now <= 10 * Millisecond; now += Millisecond)
        {
            while (_pace.MayBegin(now))
            {
                _pace.Begin(now, 1);
            }
        }

        Assert.Equal(4 * OpeningPace.First, _pace.Window);
        _pace.HandOver(11 * Millisecond, Millisecond);
        Assert.Equal(OpeningPace.First, _pace.Window);
        Assert.False(_pace.MayBegin(11 * Millisecond));
    }

    [Fact]
    public void New_connections_that_are_slower_than_the_wait_become_fewer_down_to_the_fewest()
    {
        for (var i = 0; i < 40; i++)
        {
            _pace.HandOver(10 * Millisecond, Millisecond);
            _pace.Answer(10 * Millisecond, 0);
        }

        Assert.Equal(OpeningPace.Fewest, _pace.Window);
    }

    [Fact]
    public void What_a_crowd_has_taught_is_forgotten_when_a_single_request_comes()
    {
        _pace.HandOver(10 * Millisecond, Millisecond);
        _pace.Answer(10 * Millisecond, 0);
        Assert.NotEqual(OpeningPace.First, _pace.Window);
        Assert.True(_pace.MayBegin(Second));
        _pace.Begin(Second, 0);
        Assert.Equal(OpeningPace.First, _pace.Window);
    }
}
